"""Everything that writes working memory."""
