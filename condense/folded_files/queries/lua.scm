; Functions, whether declared, assigned or kept in a table.
(function_declaration name: (_) @name) @definition
(assignment_statement
  (variable_list name: (_) @name)
  (expression_list value: (function_definition))) @definition
(field name: (_) @name value: (function_definition)) @definition

; Tables.
(chunk (variable_declaration (assignment_statement
  (variable_list name: (_) @name)
  (expression_list value: (table_constructor)))) @section)
