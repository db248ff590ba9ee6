// Three operations for TensorFlow that lose memory with every call, as their lines say, and two that do not.
#include <memory>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

using namespace tensorflow;

REGISTER_OP("LosesBuffer").Input("x: float").Output("y: float");
REGISTER_OP("LosesMember").Input("x: float").Output("y: float");
REGISTER_OP("LosesTensor").Input("x: float").Output("y: float");
REGISTER_OP("LosesNothing").Input("x: float").Output("y: float");
REGISTER_OP("MakesOutput").Input("x: float").Output("y: float");

// The compiler must not see that nobody uses it.
static void use(const void *memory) { asm volatile("" ::"r"(memory) : "memory"); }

struct LosesBuffer : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        use(new float[1024]); // definitely 4096 1
        context->set_output(0, context->input(0));
    }
};

// Its member is never deleted.
struct Library {
    float *data;
    explicit Library(int count) {
        data = new float[count]; // definitely 4096 1
    }
};

struct LosesMember : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        auto library = std::make_unique<Library>(1024);
        use(library->data);
        context->set_output(0, context->input(0));
    }
};

// The tensor, what counts its references, and its data.
struct LosesTensor : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        use(new Tensor(DT_FLOAT, TensorShape({1024}))); // definitely 32 1 with 4136 2
        context->set_output(0, context->input(0));
    }
};

struct LosesNothing : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        auto buffer = std::make_unique<float[]>(1024);
        Tensor tensor(DT_FLOAT, TensorShape({1024}));
        use(buffer.get());
        use(&tensor);
        context->set_output(0, context->input(0));
    }
};

// Its output is whoever's that called it.
struct MakesOutput : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        Tensor *output = nullptr;
        OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({1024}), &output));
        output->flat<float>().setZero();
    }
};

#define KERNEL(NAME) REGISTER_KERNEL_BUILDER(Name(#NAME).Device(DEVICE_CPU), NAME)
KERNEL(LosesBuffer);
KERNEL(LosesMember);
KERNEL(LosesTensor);
KERNEL(LosesNothing);
KERNEL(MakesOutput);
