; Modules, protocols, functions, macros, structs; guards and heads on their own line.
(call target: (identifier) @_form (arguments . (_) @name)
  (#match? @_form "^(defmodule|defprotocol|defimpl|def|defp|defmacro|defmacrop|defguard|defguardp|defdelegate|defexception)$")) @definition
(call target: (identifier) @name
  (#match? @name "^(defstruct|defoverridable)$")) @definition
(call target: (identifier) @_form (arguments . (string) @name) (do_block)
  (#match? @_form "^(describe|test|feature)$")) @definition
(unary_operator operator: "@" operand: (call target: (identifier) @_form (arguments) @name
  (#match? @_form "^(type|typep|opaque|callback|macrocallback)$"))) @definition
