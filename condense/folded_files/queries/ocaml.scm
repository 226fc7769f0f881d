; Modules, types, values that are functions, classes and exceptions.
(module_definition (module_binding (module_name) @name)) @definition
(module_type_definition (module_type_name) @name) @definition
(type_definition (type_binding name: (_) @name)) @definition
(exception_definition) @definition
(external (value_name) @name) @definition
(class_definition (class_binding (class_name) @name)) @definition
(class_type_definition) @definition
(method_definition (method_name) @name) @definition
(value_specification (value_name) @name) @definition

(value_definition (let_binding pattern: (value_name) @name (parameter))) @definition
(value_definition (let_binding
  pattern: (value_name) @name
  body: [(fun_expression) (function_expression)])) @definition
(compilation_unit (value_definition (let_binding pattern: (_) @name)) @section)
