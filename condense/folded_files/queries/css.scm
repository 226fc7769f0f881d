; Rules by their selectors, and the blocks around them.
(rule_set (selectors) @name) @definition
(keyframes_statement (keyframes_name) @name) @definition
(media_statement) @definition
(supports_statement) @definition
(at_rule (block)) @definition
