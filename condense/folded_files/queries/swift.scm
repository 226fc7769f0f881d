; Types, extensions and functions; attributes stand above and are left out.
(class_declaration name: (_) @name) @definition
(protocol_declaration name: (_) @name) @definition
(function_declaration name: (_) @name) @definition
(protocol_function_declaration name: (_) @name) @definition
(init_declaration "init" @name) @definition
(deinit_declaration "deinit" @name) @definition
(subscript_declaration "subscript" @name) @definition
(typealias_declaration name: (_) @name) @definition

; Properties are data, unless they carry code.
(property_declaration name: (_) @name) @section
