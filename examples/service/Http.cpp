//===- Http.cpp - Sessions with clients, good and bad ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session waits for a first byte, reads a request, hands it to the handler, writes the response, and begins again.
// A deadline bounds each step: when it expires, the step's operation is cancelled and the session decides what to say.
//
//===----------------------------------------------------------------------===//

#include "Http.h"
#include "Deadline.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <memory>
#include <new>
#include <optional>

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = net::ip::tcp;

namespace service {

class Server::Session : public std::enable_shared_from_this<Session> {
public:
  Session(Server &server, tcp::socket accepted) : server(server), socket(std::move(accepted)) {
    server.sessions.insert(this);
    ++server.metrics.connections;
    buffer.reserve(65536); // Beast reads as much as fits
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
  }
  ~Session() {
    server.sessions.erase(this);
    --server.metrics.connections;
  }

  /// Waits for a request's first byte, from which its time counts.
  void next() {
    parser.emplace();
    parser->body_limit(server.limits.body);
    parser->header_limit(8192);
    if (buffer.size()) // of a client that did not wait for the response to its last request
      return read();
    idle = !server.stopping || hasBytes();
    if (!idle)
      return;
    deadline->start(server.limits.seconds);
    socket.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
      self->idle = false;
      if (!error && !self->deadline->expired())
        self->read();
    });
  }

  void refuse(Response response) {
    keepAlive = false;
    write(std::move(response));
  }

  void stop() {
    error_code ignored;
    if (idle && !hasBytes())
      socket.cancel(ignored);
  }

private:
  /// A response that a worker owes, and what has to be there until it comes.
  struct Owed {
    std::shared_ptr<Session> session;
    net::executor_work_guard<net::io_context::executor_type> guard; // keeps the io_context running
    Response response;
  };

  /// Whether a request has begun to arrive that nobody has read yet.
  bool hasBytes() {
    error_code ignored;
    return socket.available(ignored) > 0;
  }

  void read() {
    deadline->start(server.limits.seconds);
    http::async_read_header(socket, buffer, *parser, [self = shared_from_this()](error_code error, size_t) {
      if (error || self->parser->is_done())
        return self->received(error);
      if (!self->deadline->expired() && boost::beast::iequals(self->parser->get()[http::field::expect], "100-continue"))
        return self->proceed();
      self->readBody();
    });
  }

  /// The client waits for this before it sends the body.
  void proceed() {
    static const std::string line = "HTTP/1.1 100 Continue\r\n\r\n";
    net::async_write(socket, net::buffer(line), [self = shared_from_this()](error_code error, size_t) {
      if (!error)
        self->readBody();
    });
  }

  void readBody() {
    if (deadline->expired()) // after the header or "100 Continue" was done, so that there was nothing to cancel
      return received(net::error::operation_aborted);
    try { // Beast would reserve it while it reads, where a failure ends the session without a response.
      parser->get().body().reserve(size_t(parser->content_length().value_or(0)));
    } catch (const std::bad_alloc &) {
      keepAlive = false;
      return write(failure(500, "out of memory for a body of " + std::to_string(*parser->content_length()) + " bytes"));
    }
    http::async_read(socket, buffer, *parser,
                     [self = shared_from_this()](error_code error, size_t) { self->received(error); });
  }

  void received(error_code error) {
    deadline->stop();
    auto &message = parser->get();
    begin = std::chrono::steady_clock::now();
    keepAlive = !error && message.keep_alive();
    if (!error)
      return handle({std::string(message.method_string()),
                     std::string(message.target().substr(0, message.target().find('?'))),
                     std::string(message[http::field::content_type]), std::move(message.body())});
    auto bytes = [](auto number) { return std::to_string(number) + " bytes"; };
    if (deadline->expired())
      return write(failure(408, "the request did not arrive within " + std::to_string(server.limits.seconds.count()) +
                                    " seconds"));
    if (error == http::error::partial_message && parser->is_header_done())
      return write(failure(400, "the body ends before its Content-Length: expected " +
                                    bytes(parser->content_length().value_or(0)) + ", found " +
                                    bytes(message.body().size())));
    if (error == http::error::body_limit)
      return write(failure(413, "expected a body of at most " + bytes(server.limits.body)));
    if (error == http::error::header_limit)
      return write(failure(431, "expected at most " + bytes(8192) + " of header fields"));
    if (error.category() == make_error_code(http::error::bad_method).category() && error != http::error::end_of_stream)
      return write(failure(400, "not a request of HTTP/1.1: " + error.message()));
    // Otherwise the client has gone.
  }

  void handle(Request request) {
    auto owed = std::make_shared<Owed>(Owed{shared_from_this(), net::make_work_guard(server.io), {}});
    server.handler(std::move(request), [owed](Response &&response) {
      owed->response = std::move(response);
      try {
        net::post(owed->session->server.io, [owed] {
          Owed own = std::move(*owed); // the worker may hold `owed` for longer, but must not end the session
          std::chrono::duration<double> taken = std::chrono::steady_clock::now() - own.session->begin;
          if (own.response.scored)
            own.session->server.metrics.observe(taken.count());
          own.session->write(std::move(own.response));
        });
      } catch (...) { // as Reply promises
        response = std::move(owed->response);
        throw;
      }
    });
  }

  void write(Response response) {
    server.metrics.count(response.status, response.refusal);
    keepAlive = keepAlive && !server.stopping;
    message = {http::status(response.status), 11};
    message.set(http::field::content_type, response.type);
    if (response.refusal)
      message.set(http::field::retry_after, "1");
    message.keep_alive(keepAlive);
    message.body() = std::move(response.body);
    message.prepare_payload();
    deadline->start(server.limits.seconds);
    http::async_write(socket, message, [self = shared_from_this()](error_code error, size_t) {
      self->deadline->stop();
      if (!error)
        self->keepAlive ? self->next() : self->linger();
    });
  }

  /// A socket that is closed while the client still sends would be reset, and the client lose the response.
  void linger() {
    error_code ignored;
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    deadline->start(std::chrono::seconds(1));
    drain();
  }

  void drain() {
    buffer.clear();
    socket.async_read_some(buffer.prepare(65536), [self = shared_from_this()](error_code error, size_t) {
      if (!error && !self->deadline->expired())
        self->drain();
    });
  }

  Server &server;
  tcp::socket socket;
  std::shared_ptr<Deadline> deadline = std::make_shared<Deadline>(socket);
  boost::beast::flat_buffer buffer;
  std::optional<http::request_parser<http::string_body>> parser;
  http::response<http::string_body> message;
  std::chrono::steady_clock::time_point begin;
  bool keepAlive = false, idle = false;
};

Server::Server(net::io_context &io, const std::string &host, uint16_t port, const Limits &limits, Metrics &metrics,
               Handler handler)
    : io(io), acceptor(io, {net::ip::make_address(host), port}), pause(io), limits(limits), metrics(metrics),
      handler(std::move(handler)) {
  accept();
}

uint16_t Server::port() const { return acceptor.local_endpoint().port(); }

void Server::accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (error && !stopping) { // such as: no file descriptor is left
      pause.expires_after(std::chrono::milliseconds(100));
      pause.async_wait([this](error_code) { stopping ? void() : accept(); });
    } else if (!error) {
      stopping ? void() : accept();
      begin(std::move(socket));
    }
  });
}

void Server::begin(tcp::socket socket) {
  auto session = std::make_shared<Session>(*this, std::move(socket));
  if (sessions.size() <= limits.connections)
    return session->next();
  session->refuse(refusal("connections", "all " + std::to_string(limits.connections) + " connections are taken"));
}

void Server::stop() {
  stopping = true;
  error_code error;
  acceptor.non_blocking(true, error);
  for (tcp::socket socket(io); !error; socket = tcp::socket(io)) { // who is connected as far as the system knows
    acceptor.accept(socket, error);
    if (!error)
      begin(std::move(socket));
  }
  acceptor.close(error);
  pause.cancel();
  for (Session *session : sessions)
    session->stop();
}

} // namespace service
