"""What a user calls: sample, plan, resume, grid."""
