"""For the models of regression.gnn: regression.py graph FILE | loss PARAMS | say KEY VALUE IN OUT.

Writes a graph of four nodes; prints the loss of parameters; changes the metadata of a file.
"""

import array
import json
import sys

import tensorfile

X, TARGET = [(1, 0), (0, 1), (2, 2), (-1, 3)], [1, 2, 3, 4]

what, *arguments = sys.argv[1:]
if what == "graph":
    numbers = {"x": array.array("f", [value for row in X for value in row]), "target": array.array("f", TARGET)}
    tensors = {name: ("F32", [4, len(values) // 4], values) for name, values in numbers.items()}
    tensorfile.write(arguments[0], 4, tensors)
elif what == "loss":
    header, data = tensorfile.split(arguments[0])
    place = {name: slice(*entry["data_offsets"]) for name, entry in header.items() if name != "__metadata__"}
    weight, bias = (array.array("f", data[place[name]]) for name in ("linear.W", "linear.b"))
    fits = [sum(a * b for a, b in zip(x, weight)) + bias[0] for x in X]
    print(f"{sum((fit - target) ** 2 for fit, target in zip(fits, TARGET)) / 4:.4f}")
else:
    key, value, source, target = arguments
    header, data = tensorfile.split(source)
    header["__metadata__"][key] = value
    tensorfile.join(target, json.dumps(header), data)
