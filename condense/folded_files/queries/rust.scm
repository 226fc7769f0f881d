; Items of a crate; attributes stand above and are left out.
(function_item name: (identifier) @name) @definition
(function_signature_item name: (identifier) @name) @definition
(struct_item name: (type_identifier) @name) @definition
(enum_item name: (type_identifier) @name) @definition
(union_item name: (type_identifier) @name) @definition
(trait_item name: (type_identifier) @name) @definition
(impl_item type: (_) @name) @definition
(mod_item name: (identifier) @name body: (_)) @definition
(type_item name: (type_identifier) @name) @definition
(macro_definition name: (identifier) @name) @definition
(foreign_mod_item body: (_)) @definition

; Long tables.
(const_item name: (identifier) @name) @section
(static_item name: (identifier) @name) @section
