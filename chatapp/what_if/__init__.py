"""What-if: what a stored conversation would come to with other settings; nothing is applied."""
