--[[-- The module for Lua: `local crescent = require "crescent"`.

These are comments for LDoc (`make ldoc`); the functions are in compiler/lua/. docs/lua.md has the guide.

A mistake is a Lua error: a table with `message`, `file` and `line` of the call and, where the message begins with
them, `script` and `script_line`. As a string it is one line,
`crescent: FILE[:LINE]: what was found, what was expected (called at FILE:LINE)`, and it has the methods of strings.
Nothing prints, ends the process, sets a hook or a global. Objects are freed by the collector, by `close`, and in
Lua 5.4 at the end of the scope of a variable that closes. An object belongs to its Lua state.

@module crescent
]]

--- The version, `"0.1.0"`.
-- @field version

--- What the library is made of, and what it uses on this machine.
-- @function build
-- @treturn table `version`, `lua`, `tinycc`, `isa`

--- Makes a tensor.
-- @function tensor
-- @tparam table|number shape sizes of the axes, or that of the only one
-- @param[opt] data nothing: zeros; a number for all elements; a table, flat or nested; a string of the bytes;
-- a tensor, which is copied; or a pointer or an array of LuaJIT's FFI, or a light userdata, whose memory is
-- used as it is
-- @tparam[opt="f32"] string dtype `"f32"`, `"i32"` or `"bool"`
-- @treturn Tensor

--- Opens the model of a path, and compiles it.
-- @function open
-- @tparam string path a script, a folder in Hugging Face's layout, or a GGUF file
-- @tparam[opt] table options those of the command line: `set = {T = 8}`, `seed`, `entry`, `config`, `ignore_config`, `backend`,
-- `isa`, `threads`, `format`, `arithmetic`, `target`, `skip`, `max_arena`, `weights`; and `grads`,
-- `cotangents`, `taps`, `keep`
-- @treturn Model

--- Compiles the graph that a function of this program builds, or a script as a string.
--
-- The function gets the language as its argument, and as its globals while it runs: what the language lacks
-- is looked for among the globals it had, which nothing changes.
-- @function model
-- @tparam function|string script returns a table of outputs, `{y = y}`
-- @tparam[opt] table options as for @{open}; `name` stands for the path
-- @treturn Model
-- @usage
-- local m = crescent.model(function()
--     local nn = require "nn"
--     local x = input("x", {4, 8})
--     return {y = nn.gelu(x)}
-- end)

--- Opens a training: a script, or a function, that is one step of it.
-- @function trainer
-- @tparam string|function script a path; or a function, as for @{model}
-- @tparam[opt] table options as for @{open}; `text`, a script of which the path is then the name; `resume`, a
-- checkpoint to go on from
-- @treturn Trainer

--- Opens a model that goes on with texts.
-- @function generator
-- @tparam string path a folder, a GGUF file or a script
-- @tparam[opt] table options as for @{open}; `context`, `chunk`, `tokenizer`; `text`, a script of which the path
-- is then the name; `cache_weights`, the bytes that files of packed weights may take
-- @treturn Generator

--- Writes a program in C that goes on with texts.
-- @function emit_generator
-- @tparam string path as for @{generator}
-- @tparam[opt] table options `out`, the C file, beside which its header is written; `tokenizer`, or `ids = true`;
-- `pack`, a file for packed weights; `embed`, true or `"array"`; and those of @{generator}
-- @treturn ?string source, without `out`
-- @treturn ?string header, which the source includes as `generator.h`

--- Opens a tokenizer.
-- @function tokenizer
-- @tparam string path a tokenizer.json, a folder with one, or a GGUF file
-- @treturn Tokenizer

--- Opens an encoder that makes vectors of texts.
-- @function embedder
-- @tparam string path a folder of an encoder with its tokenizer
-- @tparam[opt] table options as for @{open}; `pooling`, `normalize`, `max_length`; `role`, `"query"` or
-- `"document"`: a prompt of config_sentence_transformers.json that is put in front of texts; `classify`,
-- true or `"logits"`: of a classifier or reranker, a vector has the probability of each label, or the logit;
-- `cache_weights`, the bytes that files of packed weights may take
-- @treturn Embedder

--- Numbers with a shape, row-major.
--
-- `t.shape` is a table, `t.dtype` a string, `#t` the size of the first axis, `t[i]` an element or a row, which
-- shares the memory.
-- @type Tensor

--- The number of elements.
-- @function Tensor:count
-- @treturn number

--- An element.
-- @function Tensor:get
-- @tparam number ... indices from 1 on, one for each axis
-- @treturn number

--- Sets an element.
-- @function Tensor:set
-- @tparam number ... indices, and then the value

--- Iterates over the first axis.
-- @function Tensor:each
-- @return an iterator of an index, and an element or a row
-- @usage for i, row in t:each() do print(i, row) end

--- The elements as a table.
-- @function Tensor:totable
-- @tparam[opt] string nested `"nested"`: tables within tables; else flat, row-major
-- @treturn table

--- The elements as they lie in memory.
-- @function Tensor:bytes
-- @treturn string

--- The same as @{Tensor:bytes}.
-- @function Tensor:tostring
-- @treturn string

--- Sets all elements.
-- @function Tensor:fill
-- @param data what @{tensor} takes
-- @treturn Tensor itself

--- A copy.
-- @function Tensor:clone
-- @treturn Tensor

--- The same memory under another shape.
-- @function Tensor:reshape
-- @tparam table shape
-- @treturn Tensor

--- The address of the first element.
-- @function Tensor:pointer
-- @return a light userdata, `ffi.cast("float *", t:pointer())`, good as long as the tensor lives

--- A graph compiled, with its weights, states and threads.
-- @type Model

--- Runs the model. Weights that nobody gave are those of its folder, or drawn from the seed.
-- @function Model:run
-- @tparam table inputs `{x = tensor}`; what @{tensor} takes will do
-- @tparam[opt] table cotangents tensors for those that the option `cotangents` names
-- @treturn table outputs by their names
-- @treturn ?table gradients by the names of parameters and inputs, with the option `grads`

--- Loads weights.
-- @function Model:load
-- @tparam string|table paths of safetensors files, folders, GGUF files
-- @tparam[opt] table options `strict`: files may hold no other tensors
-- @treturn Model itself
-- @treturn number tensors of the files that the model does not have
-- @treturn ?string the first of them

--- Loads weights from the bytes of a safetensors or GGUF file.
-- @function Model:load_bytes
-- @tparam string bytes
-- @tparam[opt] table options `strict`, and `name`, which stands for a path in messages
-- @treturn Model itself
-- @treturn number as @{Model:load}
-- @treturn ?string

--- Draws all weights.
-- @function Model:draw
-- @tparam[opt=0] number seed
-- @treturn Model itself

--- Writes all weights as a safetensors file.
-- @function Model:save
-- @tparam string path
-- @treturn Model itself

--- A copy of a parameter, or its new value.
-- @function Model:weight
-- @tparam string name
-- @param[opt] tensor
-- @treturn Tensor|Model

--- An input as `crescent run` draws it.
-- @function Model:input
-- @tparam string name
-- @tparam[opt] number seed
-- @treturn Tensor

--- A copy of a state, or its new value.
-- @function Model:state
-- @tparam string name
-- @param[opt] tensor
-- @treturn Tensor|Model

--- Makes all states zeros.
-- @function Model:reset
-- @treturn Model itself

--- The parameters.
-- @function Model:params
-- @treturn table a list of `{name, shape, dtype, count, format}`

--- The inputs.
-- @function Model:inputs
-- @treturn table a list of `{name, shape, dtype, count}`

--- The outputs.
-- @function Model:outputs
-- @treturn table likewise

--- The states.
-- @function Model:states
-- @treturn table likewise

--- What the script declared by `options`.
-- @function Model:options
-- @treturn table values as text, by their names

--- What was compiled: times, kernels, memory.
-- @function Model:report
-- @treturn table

--- Writes standalone C and its header, or returns both.
-- @function Model:emit
-- @tparam[opt] string path ends in `.c`
-- @tparam[opt] table options `isa` (a list, "avx2,plain"), `skip`, `max_arena`, `format`, `arithmetic`, `target`, `train`
-- @treturn Model|string itself, or the source
-- @treturn ?string the header

--- What there is after a pass, as `crescent dump` prints it.
-- @function Model:dump
-- @tparam string pass
-- @tparam[opt] table options
-- @treturn string

--- What the compiler made of the model, as one page of HTML.
-- @function Model:explain
-- @tparam[opt] string path of the page, or of the document if it ends in `.json`
-- @tparam[opt] table options `as`, `"html"`, `"json"` or `"trace"`; `bench`, seconds of measuring; `check`, true:
-- errors of each kernel; `inputs`, tensors for both; and those of @{Model:emit}
-- @treturn Model|string itself, or the text

--- Frees all it holds; it cannot be used any more.
-- @function Model:close

--- A training and its state.
-- @type Trainer

--- Data, until it is fed again.
-- @function Trainer:feed
-- @tparam table data `{x = tensor, y = "batches.npy"}`
-- @treturn Trainer itself

--- Makes steps.
-- @function Trainer:step
-- @tparam[opt=1] number n
-- @treturn number the loss of the last one

--- Where the training stands.
-- @function Trainer:status
-- @treturn table `step`, and what is known of `loss`, `lr`, `tokens`, `validation`

--- Data that nothing is learned from; once.
-- @function Trainer:validation
-- @tparam table files `{x = "batches.npy"}`
-- @treturn Trainer itself

--- The mean of the losses on it.
-- @function Trainer:validate
-- @treturn number

--- A parameter as it is now.
-- @function Trainer:weight
-- @tparam string name
-- @treturn Tensor

--- An input for the next step.
-- @function Trainer:input
-- @tparam string name
-- @treturn Tensor

--- An output of the last step.
-- @function Trainer:output
-- @tparam string name
-- @treturn Tensor

--- The parameters.
-- @function Trainer:params
-- @treturn table as @{Model:params}

--- What was compiled.
-- @function Trainer:report
-- @treturn table as @{Model:report}

--- Loads weights, before the first step.
-- @function Trainer:load
-- @tparam string|table paths
-- @treturn Trainer itself

--- Writes the whole state as a checkpoint.
-- @function Trainer:save
-- @tparam string path
-- @treturn Trainer itself

--- Writes the parameters.
-- @function Trainer:save_weights
-- @tparam string path
-- @treturn Trainer itself

--- Takes over the state of a checkpoint.
-- @function Trainer:resume
-- @tparam string path
-- @treturn Trainer itself

--- Frees all it holds.
-- @function Trainer:close

--- A model that goes on with texts.
-- @type Generator

--- Goes on with a text.
-- @function Generator:generate
-- @tparam ?string|table prompt a text, or ids
-- @tparam[opt] table options `tokens`, `temperature`, `top_k`, `top_p`, `seed`, `ignore_eos`, and
-- `on_token = function(text, id)`, after whose `false` no other token follows
-- @treturn string the text that follows
-- @treturn table its ids

--- An iterator over the pieces of the text that follows.
--
-- Nothing of the module is on the stack while the body of the loop runs: it may yield. The generator makes one text
-- at a time.
-- @function Generator:each
-- @tparam ?string|table prompt a text, or ids
-- @tparam[opt] table options as for @{Generator:generate}, without `on_token`
-- @treturn function gives the next piece, a string that may be empty, and the id of its token; the last piece may
-- have none
-- @usage
-- for piece in g:each("Once upon a time") do io.write(piece) end

--- The logits of the last token.
-- @function Generator:logits
-- @treturn ?Tensor nil before the first

--- What was compiled.
-- @function Generator:report
-- @treturn table as @{Model:report}, and `context`, `used`, `vocabulary`

--- Frees all it holds.
-- @function Generator:close

--- An encoder that makes vectors of texts.
-- @type Embedder

--- The vector of a text or of a pair of texts.
-- @function Embedder:embed
-- @tparam string text
-- @tparam[opt] string pair such as a document, for a reranker
-- @treturn Tensor
-- @treturn number how many tokens it has, those that were cut off not counted

--- The names of a classifier's labels, in the order of a vector's numbers.
-- @function Embedder:labels
-- @treturn table

--- What the embedder does.
-- @function Embedder:facts
-- @treturn table `dimensions`, `max_length`, `pooling`, `normalized`, `prompt`, and `pairs`, true for a reranking decoder

--- Frees all it holds.
-- @function Embedder:close

--- From text to the ids of tokens, and back.
-- @type Tokenizer

--- The ids of a text, or of a pair of texts.
-- @function Tokenizer:encode
-- @tparam string text UTF-8
-- @tparam[opt] table options `framed = false`: without what the tokenizer puts around a text; `pair`: a second
-- text; `max_length`: the most ids, longer texts are cut; `pads = true`: fewer ids are filled up as the
-- tokenizer's file says
-- @treturn table
-- @treturn table the number of the segment of each id

--- The text of ids.
-- @function Tokenizer:decode
-- @tparam table ids
-- @tparam[opt] table options `specials = true`: shows special tokens
-- @treturn string

--- The id of a token.
-- @function Tokenizer:id
-- @tparam string token
-- @treturn ?number

--- The token of an id.
-- @function Tokenizer:token
-- @tparam number id
-- @treturn ?string

--- The greatest id + 1.
-- @function Tokenizer:size
-- @treturn number

--- Frees all it holds.
-- @function Tokenizer:close
