---@meta crescent

-- crescent.lua - annotations of the module for LuaLS, the language server of Lua: types that an editor completes and
-- checks by.  No program loads this file; docs/lua.md says how an editor finds it, and has the guide.

---The module for Lua: `local crescent = require "crescent"`.
---@class crescent
---@field version string
local crescent = {}

---What an error of the module is.  `tostring(err)` is its line; it has the methods of strings.
---@class crescent.Error
---@field message string FILE[:LINE]: what was found, what was expected
---@field file? string where the program called
---@field line? integer
---@field script? string the script that the message begins with
---@field script_line? integer

---What a tensor can be made of: a number for all elements, a table, flat or nested, a string of the bytes, a tensor, or a pointer.
---@alias crescent.Data number|table|string|crescent.Tensor|lightuserdata|ffi.cdata*

---@class crescent.Port
---@field name string
---@field shape integer[]
---@field dtype "f32"|"i32"|"bool"
---@field count integer
---@field format? string how a parameter is kept

---Those of the command line.
---@class crescent.Options
---@field set? table<string, string|number|boolean> values of the options that the script declares
---@field length? table<string, integer> of an ONNX file: symbolic sizes that stay lengths, with their bounds
---@field seed? integer of whatever is drawn at random
---@field entry? string of a script that returns several entries, this one alone
---@field script? string of a folder or a GGUF file: the script that makes the model
---@field config? string a config.json or a folder that has one, or a Lua file that returns a table
---@field ignore_config? string[] keys of the config.json that are passed over
---@field backend? "tcc"|"cc"|"standalone"|"ref"
---@field isa? "amx"|"vnni"|"avx512"|"avx2"|"neon"|"plain"
---@field threads? integer all processors, if it is not given
---@field format? string how weights are kept: "q8", or "GLOB=NAME,..."
---@field arithmetic? string how products by such weights are summed: "int8"
---@field target? string the machine that loops are cut for
---@field skip? string|string[] passes to leave out
---@field max_arena? integer bytes
---@field weights? string|string[] paths of safetensors or GGUF files, or folders
---@field grads? boolean `run` gives gradients, too
---@field cotangents? string[] outputs whose gradients begin with tensors that `run` gets
---@field taps? string[] tapped values that become outputs
---@field keep? boolean weights can be read back

---@class crescent.ModelOptions: crescent.Options
---@field name? string stands for the path

---@class crescent.TrainerOptions: crescent.Options
---@field text? string a script, of which the path is then the name
---@field resume? string a checkpoint to go on from

---@class crescent.GeneratorOptions: crescent.Options
---@field context? integer positions there is room for
---@field chunk? integer tokens of the prompt that go through the model at a time
---@field tokenizer? string a file or a folder
---@field text? string a script, of which the path is then the name
---@field cache_weights? integer bytes that files of packed weights may take

---@class crescent.GeneratorSourceOptions: crescent.Options
---@field context? integer
---@field chunk? integer
---@field tokenizer? string
---@field ids? boolean write no tokenizer
---@field pack? string a file for packed weights
---@field embed? boolean|"array" weights are in the program
---@field out? string the C file, beside which its header is written

---@class crescent.EmbedderOptions: crescent.Options
---@field pooling? "cls"|"mean"|"max"|"mean_sqrt_len_tokens"|"weightedmean"|"lasttoken"
---@field normalize? boolean the length of each vector is 1
---@field max_length? integer the most tokens of a text
---@field role? string a prompt: "query", "document"
---@field classify? boolean|"logits" a vector has the probability of each label, or the logit
---@field cache_weights? integer bytes that files of packed weights may take

---@class crescent.GenerateOptions
---@field tokens? integer at most so many
---@field temperature? number 0: the likeliest token
---@field top_k? integer
---@field top_p? number
---@field seed? integer
---@field ignore_eos? boolean go on behind a token that ends a text
---@field on_token? fun(text: string, id?: integer): boolean? after `false` no other token follows; not of `each`

---@class crescent.LoadOptions
---@field strict? boolean files may hold no other tensors

---@class crescent.LoadBytesOptions: crescent.LoadOptions
---@field name? string stands for a path in messages

---@class crescent.EncodeOptions
---@field framed? boolean false: without what the tokenizer puts around a text
---@field pair? string a second text, as a document beside a question
---@field max_length? integer the most ids; longer texts are cut
---@field pads? boolean fewer ids are filled up as the tokenizer's file says

---@class crescent.DecodeOptions
---@field specials? boolean true: show special tokens

---What the library is made of, and what it uses on this machine.
---@return {version: string, lua: string, tinycc: integer, isa: string}
function crescent.build() end

---Makes a tensor.
---@param shape integer[]|integer sizes of the axes, or that of the only one
---@param data? crescent.Data nothing: zeros
---@param dtype? "f32"|"i32"|"bool"
---@return crescent.Tensor
function crescent.tensor(shape, data, dtype) end

---Opens the model of a path, and compiles it.
---@param path string a script, a folder in Hugging Face's layout, a GGUF or an ONNX file
---@param options? crescent.Options
---@return crescent.Model
function crescent.open(path, options) end

---Compiles the graph that a function of this program builds, or a script as a string.
---@param script string|fun(c: table): table returns a table of outputs, `{y = y}`
---@param options? crescent.ModelOptions
---@return crescent.Model
function crescent.model(script, options) end

---Opens a training: a script, or a function, that is one step of it.
---@param script string|fun(c: table): table
---@param options? crescent.TrainerOptions
---@return crescent.Trainer
function crescent.trainer(script, options) end

---Opens a model that goes on with texts.
---@param path string a folder, a GGUF file or a script
---@param options? crescent.GeneratorOptions
---@return crescent.Generator
function crescent.generator(path, options) end

---Writes a program in C that goes on with texts; without the option `out` returns its source and header.
---@param path string
---@param options? crescent.GeneratorSourceOptions
---@return string? source
---@return string? header
function crescent.emit_generator(path, options) end

---Opens an encoder that makes vectors of texts.
---@param path string a folder of an encoder with its tokenizer
---@param options? crescent.EmbedderOptions
---@return crescent.Embedder
function crescent.embedder(path, options) end

---Opens a tokenizer.
---@param path string a tokenizer.json, a folder with one, or a GGUF file
---@return crescent.Tokenizer
function crescent.tokenizer(path) end

---Numbers with a shape, row-major.  `#t` is the size of the first axis, `t[i]` an element or a row.
---@class crescent.Tensor
---@field shape integer[]
---@field dtype "f32"|"i32"|"bool"
---@field [integer] number|boolean|crescent.Tensor
---@operator len: integer
local Tensor = {}

---The number of elements.
---@return integer
function Tensor:count() end

---An element.
---@param ... integer indices from 1 on, one for each axis
---@return number|boolean
function Tensor:get(...) end

---Sets an element: indices, and then the value.
---@param ... number|boolean
function Tensor:set(...) end

---Iterates over the first axis: an index, and an element or a row.
---@return fun(): integer?, (number|boolean|crescent.Tensor)?
function Tensor:each() end

---All elements, row-major, or tables within tables.
---@param nested? "nested"
---@return table
function Tensor:totable(nested) end

---The elements as they lie in memory.
---@return string
function Tensor:bytes() end

---The same as `bytes`.
---@return string
function Tensor:tostring() end

---Sets all elements.
---@param data crescent.Data
---@return crescent.Tensor itself
function Tensor:fill(data) end

---A copy.
---@return crescent.Tensor
function Tensor:clone() end

---The same memory under another shape.
---@param shape integer[]
---@return crescent.Tensor
function Tensor:reshape(shape) end

---The address of the first element: `ffi.cast("float *", t:pointer())`.
---@return lightuserdata
function Tensor:pointer() end

---A graph compiled, with its weights, states and threads.
---@class crescent.Model
local Model = {}

---Runs the model.
---@param inputs table<string, crescent.Data>
---@param cotangents? table<string, crescent.Data>
---@return table<string, crescent.Tensor> outputs
---@return table<string, crescent.Tensor>? gradients with the option `grads`
function Model:run(inputs, cotangents) end

---Loads weights.
---@param paths string|string[]
---@param options? crescent.LoadOptions
---@return crescent.Model itself
---@return integer surplus tensors of the files that the model does not have
---@return string? first of them
function Model:load(paths, options) end

---Loads weights from the bytes of a safetensors or GGUF file.
---@param bytes string
---@param options? crescent.LoadBytesOptions
---@return crescent.Model itself
---@return integer surplus
---@return string? first
function Model:load_bytes(bytes, options) end

---Draws all weights.
---@param seed? integer
---@return crescent.Model itself
function Model:draw(seed) end

---Writes all weights as a safetensors file.
---@param path string
---@return crescent.Model itself
function Model:save(path) end

---A copy of a parameter, or its new value.
---@param name string
---@param tensor? crescent.Data
---@return crescent.Tensor
---@overload fun(self: crescent.Model, name: string, tensor: crescent.Data): crescent.Model
function Model:weight(name, tensor) end

---An input as `crescent run` draws it.
---@param name string
---@param seed? integer
---@return crescent.Tensor
function Model:input(name, seed) end

---A copy of a state, or its new value.
---@param name string
---@param tensor? crescent.Data
---@return crescent.Tensor
---@overload fun(self: crescent.Model, name: string, tensor: crescent.Data): crescent.Model
function Model:state(name, tensor) end

---Makes all states zeros.
---@return crescent.Model itself
function Model:reset() end

---The parameters.
---@return crescent.Port[]
function Model:params() end

---The inputs.
---@return crescent.Port[]
function Model:inputs() end

---The outputs.
---@return crescent.Port[]
function Model:outputs() end

---The states.
---@return crescent.Port[]
function Model:states() end

---What the script declared by `options`: values as text, by their names.
---@return table<string, string>
function Model:options() end

---What was compiled: times, kernels, memory.
---@return table
function Model:report() end

---Writes standalone C and its header; without a path returns both.
---@param path? string ends in `.c`
---@param options? table `isa` (a list, "avx2,plain"), `skip`, `max_arena`, `format`, `arithmetic`, `target`, `train`
---@return crescent.Model|string
---@return string? header
function Model:emit(path, options) end

---What there is after a pass, as `crescent dump` prints it.
---@param pass string
---@param options? table
---@return string
function Model:dump(pass, options) end

---What the compiler made of the model, as one page of HTML.
---@param path? string of the page, or of the document if it ends in `.json`
---@param options? table `as`, `bench`, `check`, `inputs`, and those of `emit`
---@return crescent.Model|string
function Model:explain(path, options) end

---Frees all it holds; it cannot be used any more.
function Model:close() end

---A training and its state.
---@class crescent.Trainer
local Trainer = {}

---Data, until it is fed again: `{x = tensor, y = "batches.npy"}`.
---@param data table<string, crescent.Data>
---@return crescent.Trainer itself
function Trainer:feed(data) end

---Makes steps.
---@param n? integer
---@return number loss of the last one
function Trainer:step(n) end

---Where the training stands.
---@return {step: integer, loss: number?, lr: number?, tokens: number?, validation: number?}
function Trainer:status() end

---Data that nothing is learned from; once.
---@param files table<string, string>
---@return crescent.Trainer itself
function Trainer:validation(files) end

---The mean of the losses on it.
---@return number
function Trainer:validate() end

---A parameter as it is now.
---@param name string
---@return crescent.Tensor
function Trainer:weight(name) end

---An input for the next step.
---@param name string
---@return crescent.Tensor
function Trainer:input(name) end

---An output of the last step.
---@param name string
---@return crescent.Tensor
function Trainer:output(name) end

---The parameters.
---@return crescent.Port[]
function Trainer:params() end

---What was compiled.
---@return table
function Trainer:report() end

---Loads weights, before the first step.
---@param paths string|string[]
---@return crescent.Trainer itself
function Trainer:load(paths) end

---Writes the whole state as a checkpoint.
---@param path string
---@return crescent.Trainer itself
function Trainer:save(path) end

---Writes the parameters.
---@param path string
---@return crescent.Trainer itself
function Trainer:save_weights(path) end

---Takes over the state of a checkpoint.
---@param path string
---@return crescent.Trainer itself
function Trainer:resume(path) end

---Frees all it holds.
function Trainer:close() end

---A model that goes on with texts.
---@class crescent.Generator
local Generator = {}

---Goes on with a text.
---@param prompt? string|integer[] a text, or ids
---@param options? crescent.GenerateOptions
---@return string text that follows
---@return integer[] ids
function Generator:generate(prompt, options) end

---An iterator over the pieces of the text that follows, and the ids of their tokens.  The body of the loop may yield.
---@param prompt? string|integer[] a text, or ids
---@param options? crescent.GenerateOptions
---@return fun(): string?, integer?
function Generator:each(prompt, options) end

---The logits of the last token; nil before the first.
---@return crescent.Tensor?
function Generator:logits() end

---What was compiled; and `context`, `used`, `vocabulary`.
---@return table
function Generator:report() end

---Frees all it holds.
function Generator:close() end

---An encoder that makes vectors of texts.
---@class crescent.Embedder
local Embedder = {}

---The vector of a text or of a pair of texts, and how many tokens it has.
---@param text string
---@param pair? string such as a document, for a reranker
---@return crescent.Tensor vector
---@return integer tokens
function Embedder:embed(text, pair) end

---The names of a classifier's labels, in the order of a vector's numbers.
---@return string[]
function Embedder:labels() end

---What the embedder does.
---@return {dimensions: integer, max_length: integer, pooling: string, normalized: boolean, pairs: boolean, prompt: string?}
function Embedder:facts() end

---Frees all it holds.
function Embedder:close() end

---From text to the ids of tokens, and back.
---@class crescent.Tokenizer
local Tokenizer = {}

---The ids of a text, or of a pair of texts, and the number of the segment of each id.
---@param text string UTF-8
---@param options? crescent.EncodeOptions
---@return integer[] ids
---@return integer[] segments
function Tokenizer:encode(text, options) end

---The text of ids.
---@param ids integer[]|integer
---@param options? crescent.DecodeOptions
---@return string
function Tokenizer:decode(ids, options) end

---The id of a token.
---@param token string
---@return integer?
function Tokenizer:id(token) end

---The token of an id.
---@param id integer
---@return string?
function Tokenizer:token(id) end

---The greatest id + 1.
---@return integer
function Tokenizer:size() end

---Frees all it holds.
function Tokenizer:close() end

return crescent
