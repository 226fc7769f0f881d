; Elements that are long enough to be a part of the page.
(element (start_tag (tag_name) @name)) @section
(script_element (start_tag (tag_name) @name)) @section
(style_element (start_tag (tag_name) @name)) @section

(script_element (raw_text) @inject.javascript)
(style_element (raw_text) @inject.css)
