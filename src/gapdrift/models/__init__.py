"""What is learned of a reference: imputers, partitions, regression trees."""
