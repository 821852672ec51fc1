// The little HTTP server behind `ampprof view`: a few documents in memory, GET and HEAD, this machine only.
#pragma once
#include <atomic>
#include <map>
#include <string>

namespace ampprof::cli {

struct Document {
  std::string type;  ///< Content-Type
  std::string body;
};

/// Usage: listen, print url(), serve. Requests that make no sense are answered or dropped; none ends the server.
class PageServer {
 public:
  explicit PageServer(std::map<std::string, Document> documents) : documents_(std::move(documents)) {}
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// Binds to 127.0.0.1 at the port; 0 lets the system choose. Returns "" or what went wrong.
  std::string listen(int port);
  [[nodiscard]] int port() const { return port_; }
  /// Serves until `stop` is true; it is looked at after every event and at least every 200 ms.
  void serve(const std::atomic<bool>& stop);

  /// The answer to a request's head. Public for tests.
  [[nodiscard]] std::string answer(std::string_view head) const;

 private:
  struct Connection;
  std::map<std::string, Document> documents_;
  int socket_ = -1, port_ = 0;
};

}  // namespace ampprof::cli
