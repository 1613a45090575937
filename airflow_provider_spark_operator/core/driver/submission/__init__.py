"""Arguments and properties as spark-submit reads them."""
