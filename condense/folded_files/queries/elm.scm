; Values with their types, types and ports.
(value_declaration (function_declaration_left (lower_case_identifier) @name)) @definition
(type_declaration (upper_case_identifier) @name) @definition
(type_alias_declaration (upper_case_identifier) @name) @definition
(port_annotation (lower_case_identifier) @name) @definition
