// See page_server.h. One thread, poll, connections that close after one answer.
#include "profiler/cli/page_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

namespace ampprof::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxHead = 16384;
constexpr std::size_t kMaxConnections = 64;
constexpr auto kPatience = std::chrono::seconds(20);

bool alike(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string header(std::string_view head, std::string_view name) {
  std::size_t at = head.find("\r\n");
  while (at != std::string_view::npos) {
    const std::size_t start = at + 2, end = head.find("\r\n", start);
    const std::string_view line = head.substr(start, end == std::string_view::npos ? end : end - start);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && alike(line.substr(0, colon), name)) {
      std::string_view value = line.substr(colon + 1);
      while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
      while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
      return std::string(value);
    }
    at = end;
  }
  return {};
}

/// A page of another site may resolve its own name to 127.0.0.1 and ask us; it cannot forge the Host it asks for.
bool is_this_machine(std::string host) {
  if (const std::size_t colon = host.rfind(':'); colon != std::string::npos) host.resize(colon);
  return host == "127.0.0.1" || alike(host, "localhost");
}

std::string reply(std::string_view status, std::string_view type, std::string_view body, bool head_only) {
  std::string text = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n\r\n",
      status, type, body.size());
  if (!head_only) text += body;
  return text;
}

std::string refuse(std::string_view status, bool head_only = false) {
  return reply(status, "text/plain; charset=utf-8", fmt::format("{}\n", status), head_only);
}

}  // namespace

struct PageServer::Connection {
  int socket = -1;
  std::string head, answer;
  std::size_t sent = 0;
  bool answering = false;
  Clock::time_point deadline;
};

PageServer::~PageServer() {
  if (socket_ >= 0) close(socket_);
}

std::string PageServer::listen(int port) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return fmt::format("no socket: {}", std::strerror(errno));
  const int on = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  if (bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_, 16) != 0 ||
      getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fmt::format("port {}: {}", port, std::strerror(errno));
  port_ = ntohs(address.sin_port);
  return {};
}

std::string PageServer::answer(std::string_view head) const {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first || !line.substr(last + 1).starts_with("HTTP/1."))
    return refuse("400 Bad Request");
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  const bool head_only = method == "HEAD";
  if (method != "GET" && !head_only) return refuse("405 Method Not Allowed");
  if (!is_this_machine(header(head, "Host"))) return refuse("403 Forbidden", head_only);
  target = target.substr(0, target.find_first_of("?#"));
  const auto found = documents_.find(std::string(target));
  if (found == documents_.end()) return refuse("404 Not Found", head_only);
  return reply("200 OK", found->second.type, found->second.body, head_only);
}

void PageServer::serve(const std::atomic<bool>& stop) {
  std::vector<Connection> connections;
  const auto finished = [](Connection& c) {
    if (c.socket >= 0) close(c.socket);
    c.socket = -1;
  };
  const auto read_some = [&](Connection& c) {
    char chunk[4096];
    const ssize_t n = recv(c.socket, chunk, sizeof chunk, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return finished(c);
    c.head.append(chunk, static_cast<std::size_t>(n));
    const std::size_t end = c.head.find("\r\n\r\n");
    if (end != std::string::npos)
      c.answer = answer(std::string_view(c.head).substr(0, end));
    else if (c.head.size() > kMaxHead)
      c.answer = refuse("431 Request Header Fields Too Large");
    else
      return;
    c.answering = true;
  };
  const auto write_some = [&](Connection& c) {
    const ssize_t n = send(c.socket, c.answer.data() + c.sent, c.answer.size() - c.sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) return finished(c);
    c.sent += static_cast<std::size_t>(n);
    c.deadline = Clock::now() + kPatience;
    if (c.sent == c.answer.size()) {
      shutdown(c.socket, SHUT_WR);
      finished(c);
    }
  };
  while (!stop) {
    std::vector<pollfd> waits{{socket_, static_cast<short>(connections.size() < kMaxConnections ? POLLIN : 0), 0}};
    for (const Connection& c : connections)
      waits.push_back({c.socket, static_cast<short>(c.answering ? POLLOUT : POLLIN), 0});
    if (poll(waits.data(), waits.size(), 200) < 0 && errno != EINTR) return;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      Connection& c = connections[i];
      if (waits[i + 1].revents != 0) c.answering ? write_some(c) : read_some(c);
      if (c.socket >= 0 && Clock::now() > c.deadline) finished(c);
    }
    std::erase_if(connections, [](const Connection& c) { return c.socket < 0; });
    if ((waits[0].revents & POLLIN) == 0) continue;
    const int accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted < 0) continue;
    Connection& fresh = connections.emplace_back();
    fresh.socket = accepted;
    fresh.deadline = Clock::now() + kPatience;
  }
  for (Connection& c : connections) finished(c);
}

}  // namespace ampprof::cli
