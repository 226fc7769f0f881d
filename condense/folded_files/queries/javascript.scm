; Declarations, and functions or classes that are given a name by assignment.
(function_declaration name: (identifier) @name) @definition
(generator_function_declaration name: (identifier) @name) @definition
(class_declaration name: (identifier) @name) @definition
(method_definition name: (_) @name) @definition

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

(field_definition
  property: (_) @name
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

; Long object literals at the top: settings, routes, module.exports.
(program (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(object) (array)]) @section))
(program (expression_statement
  (assignment_expression left: (_) @name right: (object)) @section))
(export_statement value: [(object) (arrow_function) (function_expression) (class)]) @section
(export_statement (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(object) (array)]) @section))
