// Files that are written whole or not at all.
#include "libamp/io/atomic_file.h"

#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "libamp/io/safetensors.h"
#include "tests/support/folder.h"
#include "tests/support/toy_training.h"

using namespace amp;
using namespace amp::testing;

namespace {

/// A disk with room for no file of more than `bytes`, for as long as it lives.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

/// Root may write anywhere: this thread stops being root for files.
class Unprivileged {
 public:
  Unprivileged() : before_(setfsuid(65534)) {}
  ~Unprivileged() { setfsuid(static_cast<uid_t>(before_)); }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  int before_;
};

}  // namespace

TEST_CASE("the name holds the old file until the new one is whole", "[io]") {
  const Folder folder;
  const std::string path = folder.write("file", "old");
  {
    io::AtomicFile file("test", path);
    file.write("new ", 4);
    file.write("text", 4);
    CHECK(folder.read("file") == "old");
    file.commit();
    CHECK(folder.read("file") == "new text");
  }
  {
    io::AtomicFile file("test", path);
    file.write("never", 5);
  }
  CHECK(folder.read("file") == "new text");
  CHECK(folder.count() == 1);
}

TEST_CASE("a full disk is an error that leaves the old file and no other", "[io]") {
  const Folder folder;
  const io::NamedTensors old{{"w", full({10}, 1)}}, large{{"w", full({100000}, 2)}};
  io::save_file(old, folder / "file");
  {
    const FullDisk disk(65536);
    const std::string message = error_message([&] { io::save_file(large, folder / "file"); });
    CAPTURE(message);
    CHECK(message.find(folder / "file") != std::string::npos);
    CHECK(message.find("cannot be written, after 65536 bytes") != std::string::npos);
  }
  CHECK(io::load_file(folder / "file").at("w").numel() == 10);
  CHECK(folder.count() == 1);
  io::save_file(large, folder / "file");
  CHECK(io::load_file(folder / "file").at("w").numel() == 100000);
}

TEST_CASE("where no file can be made is said", "[io]") {
  const Folder folder;
  const std::string file = folder.write("file", "");
  const auto message = [](const std::string& path) { return error_message([&] { io::save_file({}, path); }); };
  CHECK(message(folder / "no/folder").find("No such file or directory") != std::string::npos);
  CHECK(message(file + "/below").find("Not a directory") != std::string::npos);
  CHECK(message(folder.path()).find("not a file") != std::string::npos);
  CHECK(message("").find("cannot be") != std::string::npos);
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(message(folder / "fifo").find("not a file") != std::string::npos);
  if (geteuid() == 0) {
    chmod(folder.path().c_str(), 0755);
    const Unprivileged nobody;
    CHECK(message(folder / "new").find("Permission denied") != std::string::npos);
    CHECK(message(file).find("Permission denied") != std::string::npos);
  } else {
    chmod(folder.path().c_str(), 0555);
    CHECK(message(folder / "new").find("Permission denied") != std::string::npos);
    chmod(folder.path().c_str(), 0755);
  }
  CHECK(folder.count() == 2);
}

TEST_CASE("a symbolic link stays one, and the file it names is replaced", "[io]") {
  const Folder folder;
  const std::string target = folder.write("target", "old");
  REQUIRE(symlink(target.c_str(), (folder / "link").c_str()) == 0);
  io::save_file({{"w", tensor({1})}}, folder / "link");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(io::load_file(target).contains("w"));
}

TEST_CASE("a file has the permissions that the user's mask gives", "[io]") {
  const Folder folder;
  const mode_t before = umask(027);
  io::save_file({}, folder / "file");
  umask(before);
  struct stat status {};
  REQUIRE(stat((folder / "file").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}
