"""Writes a copy of a graph in which every number of one tensor of integers is another: FROM TO TENSOR NUMBER."""

import json
import sys

import tensorfile

source, target, name, number = sys.argv[1:]
header, data = tensorfile.split(source)
begin, end = header[name]["data_offsets"]
width = {"I32": 4, "I64": 8}[header[name]["dtype"]]
numbers = int(number).to_bytes(width, "little", signed=True) * ((end - begin) // width)
tensorfile.join(target, json.dumps(header), data[:begin] + numbers + data[end:])
