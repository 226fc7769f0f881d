; Types and functions; attributes stand above and are left out.
(namespace_definition name: (_) @name body: (_)) @definition
(class_declaration name: (name) @name) @definition
(interface_declaration name: (name) @name) @definition
(trait_declaration name: (name) @name) @definition
(enum_declaration name: (name) @name) @definition
(function_definition name: (name) @name) @definition
(method_declaration name: (name) @name) @definition

; Functions that are given a name by assignment.
(assignment_expression
  left: (variable_name) @name
  right: [(anonymous_function) (arrow_function)]) @definition
