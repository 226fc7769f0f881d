; The parts of a component, and what its script and style define.
(template_element (start_tag (tag_name) @name)) @definition
(script_element (start_tag (tag_name) @name)) @definition
(style_element (start_tag (tag_name) @name)) @definition

(script_element (raw_text) @inject.typescript)
(style_element (raw_text) @inject.css)
