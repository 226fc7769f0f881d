; Types, objects, givens and functions; annotations stand above and are left out.
(class_definition name: (_) @name) @definition
(object_definition name: (_) @name) @definition
(package_object name: (_) @name) @definition
(trait_definition name: (_) @name) @definition
(enum_definition name: (_) @name) @definition
(type_definition name: (_) @name) @definition
(function_definition name: (_) @name) @definition
(function_declaration name: (_) @name) @definition
(given_definition) @definition
(extension_definition) @definition

; Values are data, unless they carry code.
(val_definition pattern: (_) @name) @section
