// report, view, diff, check, doctor and ops as a user runs them, on captures of a real process.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/capture/capture_support.h"
#include "tests/recorder/child_process.h"

using namespace ampprof::test;
namespace fs = std::filesystem;

namespace {

/// A run of the NVTX producer, recorded into DIR/run.
struct Recorded {
  TempDir dir;
  explicit Recorded(std::vector<std::string> actions) {
    std::vector<std::string> words{ampprof_program(), "run", "-o", "run", "--format", "json,text", nvtx_producer()};
    words.insert(words.end(), actions.begin(), actions.end());
    const ChildResult child = run_child(words, {{}, dir.path, {}});
    INFO(child.err);
    REQUIRE(fs::exists(dir / "run/capture.amptrace"));
  }
  ChildResult ampprof(std::vector<std::string> words) const {
    words.insert(words.begin(), ampprof_program());
    return run_child(words, {{}, dir.path, {}});
  }
};

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

nlohmann::json json_of(const std::string& path) { return nlohmann::json::parse(read_file(path)); }

std::string talk(int port, const std::string& request, std::size_t cut = std::string::npos) {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "no connection";
  const std::string part = request.substr(0, cut);
  if (send(s, part.data(), part.size(), MSG_NOSIGNAL) < 0) return "no send";
  std::string answer;
  char chunk[4096];
  if (cut == std::string::npos)
    for (ssize_t n = 0; (n = recv(s, chunk, sizeof chunk, 0)) > 0;) answer.append(chunk, static_cast<std::size_t>(n));
  close(s);
  return answer;
}

}  // namespace

TEST_CASE("report makes the files of a capture, in a directory of its own, and prints the text") {
  const Recorded run({"steps:3", "plain", "hostile"});
  const ChildResult first = run.ampprof({"report", "run", "-o", "out"});
  INFO(first.err);
  CHECK(first.exit_code == 0);
  CHECK(first.out == read_file(run.dir / "out/report.txt"));
  const auto report = json_of(run.dir / "out/report.json");
  CHECK(report["capture"]["steps_total"] == 3);
  CHECK(report["capture"]["sources"] == nlohmann::json::array({"libamp", "nvtx"}));
  CHECK(report["ops"][0]["name"] == "matmul");
  CHECK(report["ops"][0]["calls"] == 3);
  CHECK(report["casts"][0]["cause_op"] == "matmul");
  CHECK(report["target"]["exit_code"] == 0);
  CHECK(report["target"]["wall_ns"].get<double>() > 0);
  // Of the hostile names one is too long, and was cut: that is said, and the finding is there.
  CHECK(report["capture"]["dropped"].contains("MarkRecord (longer than a record may be)"));
  CHECK(report["findings"][0]["id"] == "records_lost");
  CHECK(first.out.find("RECORDS WERE LOST: ") == 0);
  // The same command again does not touch what is there.
  const ChildResult second = run.ampprof({"report", "run/capture.amptrace", "-o", "out", "--format", "text"});
  CHECK(second.exit_code == 0);
  CHECK(second.err.find("writing to out-1") != std::string::npos);
  CHECK(fs::exists(run.dir / "out-1/report.txt"));
  CHECK_FALSE(fs::exists(run.dir / "out-1/report.json"));
}

TEST_CASE("the page is made from the template given, and without one the other files are still there") {
  const Recorded run({"steps:1", "hostile"});
  write(run.dir / "page.html", "<script id=\"report-data\" type=\"application/json\">/*REPORT_JSON*/null</script>\n");
  REQUIRE(run.ampprof({"report", "run", "-o", "out", "--page", "page.html"}).exit_code == 0);
  const std::string html = read_file(run.dir / "out/report.html");
  const std::size_t begin = html.find("json\">") + 6, end = html.find("</script>");
  CHECK(nlohmann::json::parse(html.substr(begin, end - begin)) == json_of(run.dir / "out/report.json"));
  CHECK(html.substr(end) == "</script>\n");

  write(run.dir / "wrong.html", "<html></html>");
  const ChildResult wrong = run.ampprof({"report", "run", "-o", "other", "--page", "wrong.html"});
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.err.find("wrong.html") != std::string::npos);
  CHECK(fs::exists(run.dir / "other/report.json"));
}

TEST_CASE("an input that cannot be read gives exit code 3, a message that names it, and no directory") {
  const TempDir dir;
  write(dir / "chrome.json", R"({"traceEvents":[{"ph":"X","name":"a"}]})");
  write(dir / "other.json", R"({"hello": 1})");
  write(dir / "old.json", R"({"schema":"ampprof-report/0"})");
  write(dir / "cut.json", R"({"schema":"ampprof-report/1", "ops": [)");
  write(dir / "trace.json.gz", "\x1f\x8b\x08\x00rest");
  write(dir / "empty", "");
  write(dir / "text", "some text\n");
  fs::create_directory(dir / "folder");
  const std::pair<const char*, const char*> rows[] = {{"chrome.json", "Chrome or Kineto trace"},
                                                      {"other.json", "a JSON file"},
                                                      {"trace.json.gz", "gzip"},
                                                      {"empty", "empty"},
                                                      {"text", "text"},
                                                      {"folder", "folder"},
                                                      {"missing", "missing"}};
  for (const auto& [input, word] : rows)
    for (const char* verb : {"report", "view", "diff", "check"}) {
      std::vector<std::string> words{ampprof_program(), verb, input};
      if (std::string(verb) == "diff") words.emplace_back(input);
      if (std::string(verb) == "check") words.insert(words.end(), {"--require", "1 < 2"});
      const ChildResult child = run_child(words, {{}, dir.path, {}});
      INFO(verb << " " << input << ": " << child.err);
      CHECK(child.exit_code == 3);
      CHECK(child.err.find(word) != std::string::npos);
      CHECK(child.out.empty());
    }
  CHECK_FALSE(fs::exists(dir / "ampprof-out"));
  for (const char* input : {"old.json", "cut.json"})
    CHECK(run_child({ampprof_program(), "check", input, "--require", "1 < 2"}, {{}, dir.path, {}}).exit_code == 3);
}

TEST_CASE("a mistake in the command line is exit code 2") {
  const Recorded run({"steps:1"});
  CHECK(run.ampprof({"report"}).exit_code == 2);
  CHECK(run.ampprof({"report", "run", "--format", "pdf"}).exit_code == 2);
  CHECK(run.ampprof({"check", "run"}).exit_code == 2);
  CHECK(run.ampprof({"diff", "run"}).exit_code == 2);
  CHECK(run.ampprof({"view", "run", "--port", "70000"}).exit_code == 2);
  CHECK(run.ampprof({"ops", "no_such_op"}).exit_code == 2);
  CHECK(run.ampprof({"nonsense"}).exit_code == 2);
}

TEST_CASE("check exits 0, 1 or 2 and says why") {
  const Recorded run({"steps:3"});
  const auto check = [&](std::vector<std::string> requirements) {
    std::vector<std::string> words{"check", "run"};
    for (std::string& r : requirements) words.insert(words.end(), {"--require", std::move(r)});
    return run.ampprof(words);
  };
  CHECK(check({"capture.steps_total == 3", "target.exit_code == 0"}).exit_code == 0);
  const ChildResult failed = check({"capture.steps_total == 3", "capture.steps_total > 3", "1 < 2"});
  CHECK(failed.exit_code == 1);
  CHECK(failed.out.find("FAILED  capture.steps_total > 3   (capture.steps_total is 3)") != std::string::npos);
  const ChildResult bad = check({"capture.steps_total > 3", "capture.stps_total > 3"});
  CHECK(bad.exit_code == 2);
  CHECK(bad.err.find("reports have no capture.stps_total") != std::string::npos);
  const ChildResult unknown = check({"memory.saved_bytes > -1000000000"});
  CHECK(unknown.exit_code == 1);
  CHECK(unknown.out.find("not measured") != std::string::npos);
}

TEST_CASE("diff of a run with itself finds no change, in reports and captures alike") {
  const Recorded run({"steps:2"});
  const ChildResult child = run.ampprof({"diff", "run/report.json", "run/capture.amptrace"});
  INFO(child.out << child.err);
  CHECK(child.exit_code == 0);
  CHECK(json_of(run.dir / "run/report.json")["capture"]["dropped"].empty());
  CHECK(child.out.find("Findings: the same in both.") != std::string::npos);
  CHECK(child.out.find("Casts whose number changed: none") != std::string::npos);
}

TEST_CASE("view serves the page on loopback, refuses other hosts, survives nonsense, ends on Ctrl-C") {
  const Recorded run({"steps:1"});
  write(run.dir / "page.html", "<p><script id=\"report-data\" type=\"application/json\">/*REPORT_JSON*/null</script>");
  ChildOptions options;
  options.directory = run.dir.path;
  std::string page, head, json, missing, posted, foreign, garbage, again;
  options.meanwhile = [&](int pid) {
    int port = 0;
    for (int i = 0; i < 500 && port == 0; ++i, usleep(10'000)) {
      const std::string url = read_file(run.dir / "url");
      if (const std::size_t at = url.find("127.0.0.1:");
          at != std::string::npos && url.find('/', at) != std::string::npos)
        port = std::atoi(url.c_str() + at + 10);
    }
    const std::string host = "Host: 127.0.0.1:" + std::to_string(port) + "\r\n\r\n";
    page = talk(port, "GET / HTTP/1.1\r\n" + host);
    head = talk(port, "HEAD /report.html?x=1 HTTP/1.1\r\n" + host);
    json = talk(port, "GET /report.json HTTP/1.1\r\nHost: localhost\r\n\r\n");
    missing = talk(port, "GET /../../etc/passwd HTTP/1.1\r\n" + host);
    posted = talk(port, "POST / HTTP/1.1\r\n" + host);
    foreign = talk(port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    garbage = talk(port, std::string("\0\xff\r\n\r\n", 6));
    talk(port, "GET / HTTP/1.1\r\n" + host, 9);  // cut off in the middle
    talk(port, "GET /" + std::string(100000, 'a') + "\r\n\r\n");
    again = talk(port, "GET / HTTP/1.1\r\n" + host);
    kill(pid, SIGINT);
  };
  const ChildResult child =
      run_child({"sh", "-c", "exec \"$0\" view run --page page.html > url", ampprof_program()}, options);
  INFO(child.err);
  CHECK(child.exit_code == 0);
  CHECK(page.find("HTTP/1.1 200 OK\r\n") == 0);
  CHECK(page.find("<p><script id=\"report-data\" type=\"application/json\">{\"schema\":\"ampprof-report/1\"") !=
        std::string::npos);
  CHECK(head.find("HTTP/1.1 200 OK\r\n") == 0);
  CHECK(head.substr(head.size() - 4) == "\r\n\r\n");
  CHECK(nlohmann::json::parse(json.substr(json.find("\r\n\r\n") + 4)) == json_of(run.dir / "run/report.json"));
  CHECK(missing.find("HTTP/1.1 404") == 0);
  CHECK(posted.find("HTTP/1.1 405") == 0);
  CHECK(foreign.find("HTTP/1.1 403") == 0);
  CHECK(garbage.find("HTTP/1.1 400") == 0);
  CHECK(again == page);
}

TEST_CASE("doctor and ops describe this build") {
  const ChildResult doctor = run_child({ampprof_program(), "doctor"});
  CHECK(doctor.exit_code == 0);
  for (const char* word :
       {"recorder", "NVTX events", "GPU driver", "CUPTI", "GPU counters", "processor", "report page"})
    CHECK(doctor.out.find(word) != std::string::npos);
  const ChildResult ops = run_child({ampprof_program(), "ops", "matmul"});
  CHECK(ops.exit_code == 0);
  CHECK(ops.out.find("lower_precision") != std::string::npos);
  CHECK(ops.out.find("softmax") == std::string::npos);
}

TEST_CASE("an unknown command is named, and --help lists all that there are") {
  const ChildResult unknown = run_child({ampprof_program(), "bogus"});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("'bogus'") != std::string::npos);
  CHECK(unknown.err.find("report") != std::string::npos);
  const ChildResult help = run_child({ampprof_program(), "--help"});
  CHECK(help.exit_code == 0);
#define AMPPROF_COMMAND(name) CHECK(help.out.find("\n  " #name " ") != std::string::npos);
#include "profiler/cli/commands.def"
}

TEST_CASE("a run that was killed still gives a report, which says so") {
  const Recorded run({"steps:3", "pause:300", "end:kill"});
  const auto report = json_of(run.dir / "run/report.json");
  CHECK(report["target"]["signal"] == SIGKILL);
  CHECK(report["target"]["exit_code"] == 128 + SIGKILL);
  CHECK(report["capture"]["steps_total"] == 3);
  CHECK(report["target"]["processes"][0]["ended"] == "unknown");
  CHECK(report["findings"].dump().find("ended_without_shutdown") != std::string::npos);
}
