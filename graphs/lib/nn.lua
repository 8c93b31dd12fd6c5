-- Layers and activations, each as its textbook formula over primitive operations.
--
-- A layer declares its parameters under the scope it is called in:
--     local n = scope("ln_1", nn.layer_norm, x, {eps = 1e-5})
-- has the parameters ln_1.weight and ln_1.bias.  Parameters start as those of
-- PyTorch's layer of the same name.

local nn = {}

-- Returns the mean over an axis, which keeps size 1.
function nn.mean(x, axis)
    return sum(x, axis) / x:count(axis)
end

-- LayerNorm(x) = gamma (x - mu) / sqrt(sigma^2 + eps) + beta, over the last axis
-- (Ba, Kiros, Hinton: Layer Normalization, 2016).  Without `eps` the denominator is
-- sigma alone, as textbooks have it; with bias = false there is no beta.
function nn.layer_norm(x, config)
    local o = layer_options("nn.layer_norm", config, {eps = "number?", bias = {"boolean", true}})
    local n = x:size(-1)
    local centred = x - nn.mean(x, -1)
    local variance = nn.mean(centred ^ 2, -1)
    if o.eps then variance = variance + o.eps end
    local y = centred * rsqrt(variance) * param("weight", {n}, {fill = 1})
    if o.bias then y = y + param("bias", {n}, {fill = 0}) end
    return y
end

-- RMSNorm(x) = gamma x / sqrt(mean(x^2) + eps), over the last axis
-- (Zhang, Sennrich: Root Mean Square Layer Normalization, 2019).  With `unit_offset` the
-- parameter is gamma - 1, as Gemma has it, and starts at 0.
function nn.rms_norm(x, config)
    local o = layer_options("nn.rms_norm", config, {eps = "number", unit_offset = {"boolean", false}})
    local offset = o.unit_offset and 1 or 0
    local gamma = param("weight", {x:size(-1)}, {fill = 1 - offset})
    if offset ~= 0 then gamma = gamma + offset end
    return x * rsqrt(nn.mean(x ^ 2, -1) + o.eps) * gamma
end

-- y = x W^T + b with W [out, in], as torch.nn.Linear.
function nn.linear(x, n_out, bias)
    local o = layer_options("nn.linear", {n_out = n_out, bias = bias},
        {n_out = "size", bias = {"boolean", true}})
    local n_in = x:size(-1)
    local start = {uniform = 1 / math.sqrt(n_in)}
    local y = matmul(x, param("weight", {n_out, n_in}, start):transpose(1, 2))
    if o.bias then y = y + param("bias", {n_out}, start) end
    return y
end

-- y = x W + b with W [in, out], as Hugging Face's Conv1D.
function nn.conv1d(x, n_out, bias)
    local o = layer_options("nn.conv1d", {n_out = n_out, bias = bias},
        {n_out = "size", bias = {"boolean", true}})
    local y = matmul(x, param("weight", {x:size(-1), n_out}, {normal = 0.02}))
    if o.bias then y = y + param("bias", {n_out}, {fill = 0}) end
    return y
end

-- ReLU(x) = max(x, 0), whose gradient at 0 is 0, as PyTorch has it; that of `maximum` would
-- be half.
function nn.relu(x)
    return where(gt(x, 0), x, detach(maximum(x, 0)))
end

-- GELU(x) = x Phi(x) = x/2 (1 + erf(x / sqrt 2))
-- (Hendrycks, Gimpel: Gaussian Error Linear Units, 2016).
function nn.gelu(x)
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))
end

-- GELU by the tanh approximation of the same paper, as GPT-2 has it:
-- x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
function nn.gelu_tanh(x)
    return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ^ 3)))
end

-- SiLU(x) = x sigmoid(x), also called Swish
-- (Elfwing, Uchibe, Doya: Sigmoid-Weighted Linear Units, 2017).
function nn.silu(x)
    return x * sigmoid(x)
end

-- GELU by a sigmoid, as CLIP has it: x sigmoid(1.702 x) (Hendrycks, Gimpel, as above).
function nn.quick_gelu(x)
    return x * sigmoid(1.702 * x)
end

-- Gated linear units: one projection passes through the activation and gates another
-- (Shazeer: GLU Variants Improve Transformer, 2020).
function nn.swiglu(gate, up)
    return nn.silu(gate) * up
end

-- GEGLU with the tanh approximation of GELU, as Gemma has it.
function nn.geglu(gate, up)
    return nn.gelu_tanh(gate) * up
end

-- softmax(s)_i = exp(s_i) / sum_j exp(s_j) over the last axis.  The maximum, which
-- cancels out (also of the gradient), is subtracted so that nothing overflows.
function nn.softmax(s)
    local e = exp(s - detach(max(s, -1)))
    return e / sum(e, -1)
end

-- Softmax, but 0 in a row whose scores are all -inf, where nothing is visible; as in
-- torch.nn.functional.scaled_dot_product_attention.
function nn.safe_softmax(s)
    local top = detach(max(s, -1))
    local e = exp(s - where(eq(top, -math.huge), 0, top))
    local total = sum(e, -1)
    return e / where(eq(total, 0), 1, total)
end

-- Returns the sum of all elements, a scalar.
function nn.total(x)
    return sum(x:reshape{-1}, 1):reshape{}
end

-- The mean of the squared differences, a scalar, as torch.nn.functional.mse_loss.
function nn.mse_loss(x, target)
    local squares = (x - target) ^ 2
    local count = 1
    for _, size in ipairs(squares.shape) do count = count * size end
    return nn.total(squares) / count
end

-- The mean of -log softmax(logits)[target] over all positions, a scalar, as
-- torch.nn.functional.cross_entropy: log(sum_j exp(s_j)) - s_target, so that probabilities
-- are never there.  logits [.., n], targets i32 [..]; a position whose target is
-- config.ignore_index (-100) does not count.
function nn.cross_entropy(logits, targets, config)
    local o = layer_options("nn.cross_entropy", config or {}, {ignore_index = {"whole", -100}})
    local wide = {}
    for i, size in ipairs(targets.shape) do wide[i] = size end
    table.insert(wide, 1)
    local s = logits - detach(max(logits, -1))
    local hit = eq(iota(s.shape, s.rank), targets:reshape(wide))
    local loss = log(sum(exp(s), -1, false)) - sum(where(hit, s, 0), -1, false)
    local counts = ne(targets, o.ignore_index)
    return nn.total(where(counts, loss, 0)) / nn.total(float(counts))
end

-- Returns rows of a table of n vectors, one for each id, as torch.nn.Embedding.  ids: i32.  The table is
-- initialised with a standard deviation of `std`, 1 by default.
function nn.embedding(ids, n, size, std)
    local o = layer_options("nn.embedding", {n = n, size = size, std = std},
        {n = "size", size = "size", std = {"number", 1}})
    return gather(param("weight", {n, size}, {normal = o.std}), ids)
end

-- Cuts images [B, channels, height, width] into patches [B, patches, n_out], row by row: a convolution with a
-- stride equal to its size, {height, width}.  Incomplete patches at the right and bottom are dropped.
function nn.patches(pixels, n_out, size, bias)
    local o = layer_options("nn.patches", {n_out = n_out, size = size, bias = bias},
        {n_out = "size", size = "table", bias = {"boolean", true}})
    local B, channels, height, width = unpack(pixels.shape)
    local h, w = size[1], size[2]
    local rows, columns = math.floor(height / h), math.floor(width / w)
    if rows * columns == 0 then
        error("found an image of " .. height .. " x " .. width .. ", expected at least one patch of " .. h .. " x " .. w)
    end
    local weight = param("weight", {n_out, channels, h, w}, {normal = 0.02})
    if rows * h < height or columns * w < width then
        pixels = pixels:slice({0, 0, 0, 0}, {B, channels, rows * h, columns * w})
    end
    local x = pixels:reshape{B, channels, rows, h, columns, w}:permute{1, 3, 5, 2, 4, 6}
    x = x:reshape{B, rows * columns, channels * h * w}
    local y = matmul(x, weight:reshape{n_out, channels * h * w}:transpose(1, 2))
    if o.bias then y = y + param("bias", {n_out}, {fill = 0}) end
    return y
end

-- Learned positions: x [B, T, C] plus the first T rows of a table of n vectors
-- (Gehring et al.: Convolutional Sequence to Sequence Learning, 2017).
function nn.learned_positions(x, n, std)
    local o = layer_options("nn.learned_positions", {n = n, std = std}, {n = "size", std = {"number", 1}})
    local T, C = x:size(-2), x:size(-1)
    if T > n then error("found " .. T .. " tokens, expected at most " .. n .. ", the number of positions") end
    return x + param("weight", {n, C}, {normal = o.std}):slice({0, 0}, {T, C})
end

-- A tied head: computes logits by the table of an embedding of n vectors; call it in the embedding's scope
-- (Press, Wolf: Using the Output Embedding to Improve Language Models, 2017).
function nn.tied_head(x, n, std)
    local o = layer_options("nn.tied_head", {n = n, std = std}, {n = "size", std = {"number", 1}})
    local table = param("weight", {n, x:size(-1)}, {normal = o.std})
    return matmul(x, table:transpose(1, 2))
end

-- Dropout: each element becomes 0 with probability p, and the others are divided by 1 - p, so that the mean stays
-- the same (Srivastava et al.: Dropout, 2014).  The seed, a number or an i32 tensor, decides which elements;
-- without a seed, as outside of training, nothing is dropped.  p is rounded to 24 bits, as many as random numbers
-- have.
function nn.dropout(x, p, seed)
    layer_options("nn.dropout", {p = p, seed = seed}, {p = "number", seed = "number|tensor?"})
    if p < 0 or p >= 1 then error("found dropout " .. p .. ", expected at least 0 and less than 1") end
    if not seed or p == 0 then return x end
    local threshold = math.floor(p * 2 ^ 24 + 0.5) / 2 ^ 24
    return where(ge(random(seed, x.shape), threshold), x * (1 / (1 - p)), 0)
end

return nn
