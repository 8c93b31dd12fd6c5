-- An option that was not declared, read with a slip of the pen.
local o = options {n_head = 3}
return {y = input("x", {o.n_hed})}
