"""Everything that reads working memory."""
