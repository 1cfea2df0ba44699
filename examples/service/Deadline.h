//===- Deadline.h - Time limits of a session --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_DEADLINE_H
#define SERVICE_DEADLINE_H

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>

namespace service {

/// Cancels the operations of a socket when their time is over. Belongs to the socket's owner.
class Deadline : public std::enable_shared_from_this<Deadline> {
public:
  explicit Deadline(boost::asio::ip::tcp::socket &socket) : socket(socket), timer(socket.get_executor()) {}

  /// Begins a step, which replaces the one before it.
  void start(std::chrono::seconds time) {
    over = false;
    arm(time);
  }

  /// Ends the step.
  void stop() { timer.expires_at(Clock::time_point::max()); } // cancel() would miss a handler that is queued already

  bool expired() const { return over; }

private:
  using Clock = std::chrono::steady_clock;

  void arm(Clock::duration time) {
    timer.expires_after(time);
    timer.async_wait([weak = weak_from_this()](boost::system::error_code error) {
      auto self = weak.lock();
      if (error || !self || self->timer.expiry() > Clock::now())
        return;
      self->over = true;
      self->socket.cancel(error);
      // An operation that has completed, but whose handler is still queued, cannot be cancelled, and its step would go
      // on without a limit. So cancel until the step ends.
      self->arm(std::chrono::milliseconds(100));
    });
  }

  boost::asio::ip::tcp::socket &socket;
  boost::asio::steady_timer timer;
  bool over = false;
};

} // namespace service

#endif // SERVICE_DEADLINE_H
