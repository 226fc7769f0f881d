; Contracts and their members.
(contract_declaration name: (identifier) @name) @definition
(interface_declaration name: (identifier) @name) @definition
(library_declaration name: (identifier) @name) @definition
(struct_declaration name: (identifier) @name) @definition
(enum_declaration name: (identifier) @name) @definition
(event_definition name: (identifier) @name) @definition
(error_declaration name: (identifier) @name) @definition
(modifier_definition name: (identifier) @name) @definition
(constructor_definition) @definition
(function_definition name: (identifier) @name) @definition
(fallback_receive_definition) @definition
