// A server that answers requests and keeps a session for each. Expired sessions are meant to be freed; those of
// guests never are: their key is not the one that `expire` looks up.
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Session {
    std::string user;
    std::vector<char> history;
};

// Created once and never destroyed, as is common in servers: threads may still use it during exit.
static auto &sessions = *new std::map<std::string, std::unique_ptr<Session>>;

static std::string key_of(const std::string &user, int number) {
    return user == "guest" ? user + "-" + std::to_string(number) : user;
}

static Session &open_session(const std::string &user, int number) {
    auto session = std::make_unique<Session>();
    session->user = user;
    session->history.resize(4096);
    return *(sessions[key_of(user, number)] = std::move(session));
}

static void expire(const std::string &user) {
    sessions.erase(user);
}

static size_t answer(int number) {
    const std::string user = number % 2 ? "guest" : "member-" + std::to_string(number);
    Session &session = open_session(user, number);
    std::string page(20000, ' ');
    page += session.user;
    expire(user);
    return page.size();
}

int main() {
    size_t sent = 0;
    for (int number = 0; number < 5000; number++) sent += answer(number);
    std::printf("%zu bytes sent, %zu sessions still open\n", sent, sessions.size());
    return 0;
}
