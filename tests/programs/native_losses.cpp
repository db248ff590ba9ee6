// Runs a graph in sessions of TensorFlow, as often as its second word says, and does with each run what its first word says:
//     buffer    loses a buffer of the program's own
//     session   makes a session and never deletes it
//     nothing   deletes both
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

using namespace tensorflow;

static void need(const absl::Status &status) {
    if (!status.ok()) {
        fprintf(stderr, "failed: %s\n", status.ToString().c_str());
        exit(99);
    }
}

// The compiler must not see that nobody uses it.
static void use(const void *memory) { asm volatile("" ::"r"(memory) : "memory"); }

static GraphDef graph() {
    Tensor value(DT_FLOAT, TensorShape({}));
    value.scalar<float>()() = 42;
    GraphDef graph;
    NodeDef *node = graph.add_node();
    node->set_name("constant");
    node->set_op("Const");
    (*node->mutable_attr())["dtype"].set_type(DT_FLOAT);
    value.AsProtoTensorContent((*node->mutable_attr())["value"].mutable_tensor());
    return graph;
}

static void run(Session *session) {
    std::vector<Tensor> outputs;
    need(session->Run({}, {"constant:0"}, {}, &outputs));
    if (outputs[0].scalar<float>()() != 42) {
        exit(98);
    }
}

static Session *opened(const GraphDef &graph) {
    Session *session = NewSession(SessionOptions()); // session
    need(session->Create(graph)); // and its graph
    return session;
}

// What TensorFlow freed while it started leaves room in which its own dead strings still point. A program that has run for a
// while has used that room up.
static std::vector<std::unique_ptr<float[]>> kept;

static void use_up_the_room() {
    for (int number = 0; number < 4000; number++) {
        kept.emplace_back(new float[1024]());
    }
}

static void copy_to_host() {
    float *host = new float[1024]; // definitely 4096 1
    memset(host, 0, 4096);
    use(host);
}

static void one_pass(const std::string &what, const GraphDef &graph, Session *shared) {
    if (what == "session") {
        run(opened(graph));
    } else if (what == "buffer") {
        run(shared);
        copy_to_host();
    } else {
        std::unique_ptr<Session> own(opened(graph));
        std::unique_ptr<float[]> host(new float[1024]);
        use(host.get());
        run(own.get());
        need(own->Close());
    }
}

int main(int count, char **words) {
    std::string what = count > 1 ? words[1] : "nothing";
    int passes = count > 2 ? atoi(words[2]) : 20;
    GraphDef definition = graph();
    std::unique_ptr<Session> shared(opened(definition));
    use_up_the_room();
    for (int pass = 0; pass < passes; pass++) {
        one_pass(what, definition, shared.get());
    }
    need(shared->Close());
    return 0;
}
