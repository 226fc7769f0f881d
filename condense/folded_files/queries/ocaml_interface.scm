; Module types, types, values, classes and exceptions.
(module_definition (module_binding (module_name) @name)) @definition
(module_type_definition (module_type_name) @name) @definition
(type_definition (type_binding name: (_) @name)) @definition
(exception_definition) @definition
(external (value_name) @name) @definition
(value_specification (value_name) @name) @definition
(class_definition) @definition
(class_type_definition) @definition
(method_specification) @definition
