; Modules, operators, functions and theorems.
(module name: (_) @name) @definition
(operator_definition name: (_) @name) @definition
(function_definition name: (_) @name) @definition
(module_definition name: (_) @name) @definition
(theorem) @section
(pcal_algorithm) @definition
