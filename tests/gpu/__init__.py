"""Everything that a real driver can teach in eight minutes: ``make gpu``, its rehearsal, and its report.

``python -m gpu`` runs the whole. :mod:`gpu.facts` asks the driver questions; it needs neither the package ``cuarray`` nor any other.
"""
