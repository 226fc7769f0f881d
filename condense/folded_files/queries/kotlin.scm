; Types, objects and functions; annotations stand above and are left out.
(class_declaration (type_identifier) @name) @definition
(object_declaration (type_identifier) @name) @definition
(companion_object "companion" @name) @definition
(function_declaration (simple_identifier) @name) @definition
(secondary_constructor "constructor" @name) @definition
(type_alias (type_identifier) @name) @definition

; Properties are data, unless they carry objects.
(property_declaration (variable_declaration (simple_identifier) @name)) @section
