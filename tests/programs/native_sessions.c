// Runs a session of TensorFlow through its C interface, keeps a block with each run, and says:  runs N BYTES
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensorflow/c/c_api.h>

enum { RUNS = 300, KEPT = 5000 };

static void *kept[RUNS];

static void need(TF_Status *status) {
    if (TF_GetCode(status) != TF_OK) {
        fprintf(stderr, "failed: %s\n", TF_Message(status));
        exit(99);
    }
}

static TF_Operation *constant(TF_Graph *graph, TF_Status *status) {
    TF_Tensor *value = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
    *(float *)TF_TensorData(value) = 42;
    TF_OperationDescription *description = TF_NewOperation(graph, "Const", "constant");
    TF_SetAttrTensor(description, "value", value, status);
    need(status);
    TF_SetAttrType(description, "dtype", TF_FLOAT);
    TF_Operation *operation = TF_FinishOperation(description, status);
    need(status);
    TF_DeleteTensor(value);
    return operation;
}

static void run(TF_Session *session, TF_Output output, TF_Status *status) {
    TF_Tensor *result = NULL;
    TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &result, 1, NULL, 0, NULL, status);
    need(status);
    if (*(float *)TF_TensorData(result) != 42)
        exit(98);
    TF_DeleteTensor(result);
}

int main(void) {
    TF_Status *status = TF_NewStatus();
    TF_Graph *graph = TF_NewGraph();
    TF_Output output = {constant(graph, status), 0};
    TF_SessionOptions *options = TF_NewSessionOptions();
    TF_Session *session = TF_NewSession(graph, options, status);
    need(status);
    for (int i = 0; i < RUNS; i++) {
        run(session, output, status);
        kept[i] = memset(malloc(KEPT), 1, KEPT); // here
    }
    printf("runs %d %d\n", RUNS, KEPT);
    TF_CloseSession(session, status);
    TF_DeleteSession(session, status);
    TF_DeleteSessionOptions(options);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
    return 0;
}
