//===- Http.h - Requests in, responses out ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// HTTP/1.1 with Boost.Beast. One thread does all reading and writing, so a slow client costs a socket and never a
// thread. What reaches the handler is complete and within the limits; all else is answered here.
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_HTTP_H
#define SERVICE_HTTP_H

#include "Message.h"
#include "Metrics.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <unordered_set>

namespace service {

/// Called by the thread of the io_context, which it must not keep waiting.
using Handler = std::function<void(Request, Reply)>;

struct Limits {
  size_t body = 16u << 20;          ///< bytes of a request's body
  size_t connections = 256;         ///< open at a time
  std::chrono::seconds seconds{10}; ///< to send a request, to take its response, or idle
};

class Server {
public:
  /// Throws if the port is taken; 0 takes a free one.
  Server(boost::asio::io_context &io, const std::string &host, uint16_t port, const Limits &limits, Metrics &metrics,
         Handler handler);
  uint16_t port() const;
  /// Takes no new connection and closes the idle ones. Those with a request get their response first; then the
  /// io_context runs out of work.
  void stop();

private:
  class Session;
  void accept();
  void begin(boost::asio::ip::tcp::socket socket);

  boost::asio::io_context &io;
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer pause;
  Limits limits;
  Metrics &metrics;
  Handler handler;
  std::unordered_set<Session *> sessions;
  bool stopping = false;
};

} // namespace service

#endif // SERVICE_HTTP_H
