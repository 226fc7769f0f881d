; Modules, classes and methods, those of the class itself included.
(module name: (_) @name) @definition
(class name: (_) @name) @definition
(singleton_class value: (_) @name) @definition
(method name: (_) @name) @definition
(singleton_method name: (_) @name) @definition

; Struct.new, Class.new and DSLs that take a block.
(assignment left: (constant) @name right: (call block: (_))) @definition
(program (call method: (identifier) @name block: (_)) @section)
(block_body (call method: (identifier) @name block: (_)) @section)
(body_statement (call method: (identifier) @name block: (do_block)) @section)
