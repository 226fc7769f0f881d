"""What people do, from the first visit on, against a stand-in for the provider."""
