print("fieldcast")
