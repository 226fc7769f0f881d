; Types and their members; attributes stand above and are left out.
(namespace_declaration name: (_) @name) @definition
(file_scoped_namespace_declaration name: (_) @name) @definition
(class_declaration name: (identifier) @name) @definition
(struct_declaration name: (identifier) @name) @definition
(record_declaration name: (identifier) @name) @definition
(interface_declaration name: (identifier) @name) @definition
(enum_declaration name: (identifier) @name) @definition
(delegate_declaration name: (identifier) @name) @definition

(method_declaration name: (identifier) @name) @definition
(constructor_declaration name: (identifier) @name) @definition
(destructor_declaration name: (identifier) @name) @definition
(operator_declaration) @definition
(conversion_operator_declaration) @definition
(indexer_declaration "this" @name) @definition
(local_function_statement name: (identifier) @name) @definition
(event_declaration name: (identifier) @name) @definition

; Properties are data, unless they carry code.
(property_declaration name: (identifier) @name) @section
