; Functions, methods and types, each at its own line.
(function_declaration name: (identifier) @name) @definition
(method_declaration name: (field_identifier) @name) @definition
(type_spec name: (type_identifier) @name) @definition
(type_alias name: (type_identifier) @name) @definition
(method_elem name: (field_identifier) @name) @definition

; Blocks of constants and variables.
(source_file (const_declaration) @section)
(source_file (var_declaration) @section)
