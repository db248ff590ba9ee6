// Three operations for TensorFlow that make one error each with every call, on the lines that say so, and one that makes none.
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

using namespace tensorflow;

REGISTER_OP("WritesBehind").Input("x: float").Output("y: float");
REGISTER_OP("ReadsFreed").Input("x: float").Output("y: float");
REGISTER_OP("UsesUnset").Input("x: float").Output("y: float");
REGISTER_OP("MakesNoError").Input("x: float").Output("y: float");

// The compiler must not know what is there.
template <class T> static T *hidden(T *memory) {
    asm volatile("" : "+r"(memory)::"memory");
    return memory;
}

static volatile int sink;

struct WritesBehind : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        float *buffer = hidden(new float[256]);
        buffer[256] = 1; // error InvalidWrite
        delete[] buffer;
        context->set_output(0, context->input(0));
    }
};

struct ReadsFreed : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        int *buffer = hidden(new int[256]());
        delete[] buffer;
        sink = hidden(buffer)[16]; // error InvalidRead
        context->set_output(0, context->input(0));
    }
};

struct UsesUnset : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        int *flag = hidden(new int);
        if (*flag == 4711) // error UninitCondition
            sink = 1;
        delete flag;
        context->set_output(0, context->input(0));
    }
};

struct MakesNoError : OpKernel {
    using OpKernel::OpKernel;
    void Compute(OpKernelContext *context) override {
        int *buffer = hidden(new int[256]());
        buffer[255] = 1;
        if (buffer[16] == 4711)
            sink = 1;
        delete[] buffer;
        context->set_output(0, context->input(0));
    }
};

#define KERNEL(NAME) REGISTER_KERNEL_BUILDER(Name(#NAME).Device(DEVICE_CPU), NAME)
KERNEL(WritesBehind);
KERNEL(ReadsFreed);
KERNEL(UsesUnset);
KERNEL(MakesNoError);
