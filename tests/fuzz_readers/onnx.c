/* onnx.c - fuzz target: any bytes as an ONNX file are refused with a line, or give a graph that is
 * translated or refused. */
#include "compiler/import/print_script.h"
#include "compiler/import/translate.h"

#include "target.h"

static void translate(struct cr_onnx_graph *graph, struct cr_error *error)
{
    static const struct cr_onnx_pin pins[] = {{"n", "3", true}};
    struct cr_onnx_script script;
    struct cr_printer printer = {0};
    if (cr_onnx_translate(&script, graph, pins, 1, error) != 0)
        promise_message(error->text);
    else if (cr_script_print(&printer, &script, error) != 0)
        promise_message(error->text);
    cr_script_free_printer(&printer);
    cr_onnx_script_free(&script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cr_error error = {""};
    struct cr_onnx_model model;
    struct cr_onnx_graph graph;
    if (cr_onnx_model_parse(&model, "fuzz.onnx", data, size, &error) != 0) {
        promise_message(error.text);
        return 0;
    }
    if (cr_onnx_graph_make(&graph, &model, &error) != 0) {
        promise_message(error.text);
    } else {
        translate(&graph, &error);
        cr_onnx_graph_free(&graph);
    }
    cr_onnx_model_close(&model);
    return 0;
}
