// Appending to the capture from inside a program that knows nothing of it.
#include "profiler/capture/capture_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace ampprof::capture {
namespace {

// Above what programs usually number their files with: some close or count all small descriptors, or dup2 onto them.
constexpr int kLowestDescriptor = 200;

std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

SignalsHeld::SignalsHeld() noexcept {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before_);
  sigset_t all, pending;
  sigfillset(&all);
  held_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
  was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

SignalsHeld::~SignalsHeld() {
  if (held_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  pthread_setcancelstate(cancel_before_, nullptr);
}

void SignalsHeld::take_back_file_limit_signal() noexcept {
  if (!held_ || was_pending_) return;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGXFSZ);
  const timespec now{0, 0};
  while (sigtimedwait(&only, nullptr, &now) < 0 && errno == EINTR) {
  }
}

CaptureFile::~CaptureFile() {
  bool removed = false;
  if (still_ours(removed)) ::close(fd_);
}

bool CaptureFile::open(const std::string& path) noexcept {
  path_ = path;
  return reopen();
}

bool CaptureFile::reopen() noexcept {
  const int low = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
  if (low < 0) return false;
  struct stat about {};
  if (::fstat(low, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(low);
    errno = EINVAL;
    return false;
  }
  const int high = ::fcntl(low, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (high >= 0) ::close(low);  // otherwise the descriptor limit is below ours, and the low one has to do
  fd_ = high >= 0 ? high : low;
  device_ = about.st_dev;
  inode_ = about.st_ino;
  return true;
}

// The program may have closed our descriptor (daemons close all they find) and the number may be another file by now:
// writing there would destroy somebody's data. One fstat a block is the price of never doing that.
bool CaptureFile::still_ours(bool& removed) const noexcept {
  struct stat about {};
  if (fd_ < 0 || ::fstat(fd_, &about) != 0) return false;
  if (about.st_dev != device_ || about.st_ino != inode_) return false;
  removed = about.st_nlink == 0;
  return true;
}

// Leaves an open descriptor of the file that has the path, or a removed one that cannot be replaced: never another's.
bool CaptureFile::make_ready(bool& fresh) noexcept {
  bool removed = false;
  const bool ours = still_ours(removed);
  if (ours && !removed) return true;
  const std::uint64_t device = device_, inode = inode_;
  const int old = fd_;
  if (!reopen()) {
    if (!ours) fd_ = -1;
    return false;
  }
  if (ours) ::close(old);
  fresh = device != device_ || inode != inode_;
  return true;
}

CaptureFile::Outcome CaptureFile::append(BlockHeader& header, std::span<const std::byte> first,
                                         std::span<const std::byte> second) noexcept {
  seal_block(header, first, second);
  iovec pieces[3] = {{&header, sizeof header},
                     {const_cast<std::byte*>(first.data()), first.size()},
                     {const_cast<std::byte*>(second.data()), second.size()}};
  const std::size_t whole = sizeof header + first.size() + second.size();
  const int saved_errno = errno;  // the program may be between a call of its own and looking at errno
  SignalsHeld held;
  const std::lock_guard lock(mutex_);
  bool fresh = false;
  ssize_t written = -1;
  if (make_ready(fresh)) {
    do written = ::writev(fd_, pieces, 3);
    while (written < 0 && errno == EINTR);
    if (written < 0 && errno == EFBIG) held.take_back_file_limit_signal();
  }
  errno = saved_errno;
  if (written < 0 || static_cast<std::size_t>(written) != whole) return Outcome::failed;
  return fresh ? Outcome::written_to_new_file : Outcome::written;
}

std::uint64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

std::uint64_t realtime_offset_ns() noexcept { return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC); }

std::uint64_t make_process_uid() noexcept {
  std::uint64_t uid = 0;
  const int saved_errno = errno;
  if (::getrandom(&uid, sizeof uid, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof uid))
    uid = clock_ns(CLOCK_REALTIME) * 0x9e3779b97f4a7c15u ^ (static_cast<std::uint64_t>(::getpid()) << 32);
  errno = saved_errno;
  return uid == 0 ? 1 : uid;
}

}  // namespace ampprof::capture
