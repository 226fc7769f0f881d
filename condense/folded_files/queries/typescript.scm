; Declarations of values and of types; overloads and ambient ones included.
(function_declaration name: (identifier) @name) @definition
(generator_function_declaration name: (identifier) @name) @definition
(function_signature name: (identifier) @name) @definition
(class_declaration name: (type_identifier) @name) @definition
(abstract_class_declaration name: (type_identifier) @name) @definition
(interface_declaration name: (type_identifier) @name) @definition
(type_alias_declaration name: (type_identifier) @name) @definition
(enum_declaration name: (identifier) @name) @definition
(internal_module name: (_) @name) @definition
(module name: (_) @name) @definition
(ambient_declaration "global" @name) @definition

(method_definition name: (_) @name) @definition
(method_signature name: (_) @name) @definition
(abstract_method_signature name: (_) @name) @definition

(variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function) (class)]) @definition

; React.memo(() => …), styled.div(…): a constant made by a call over a function.
(variable_declarator
  name: (identifier) @name
  value: (call_expression
    arguments: (arguments [(arrow_function) (function_expression)]))) @section

(assignment_expression
  left: (_) @name
  right: [(arrow_function) (function_expression) (generator_function) (class)]) @definition

(public_field_definition
  name: (_) @name
  value: [(arrow_function) (function_expression)]) @definition

(pair
  key: (_) @name
  value: [(arrow_function) (function_expression)]) @definition

; describe("…", () => …), app.get("…", …): a call that gives a function a title.
(expression_statement (call_expression
  function: (_) @name
  arguments: (arguments
    . [(string) (template_string)]
    [(arrow_function) (function_expression)]))) @section

; Long object literals at the top: settings, routes, default exports.
(program (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(object) (array)]) @section))
(export_statement value: [(object) (arrow_function) (function_expression) (class)]) @section
(export_statement (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(object) (array)]) @section))
